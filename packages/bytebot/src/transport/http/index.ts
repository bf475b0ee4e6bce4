export { DialedLink, type DialOptions } from "./dialed.ts";
export { Endpoint, type EndpointOptions } from "./endpoint.ts";
export { isLoopback } from "./guard.ts";
export { Client, textOf } from "./request.ts";
export { isWide, listenHttp, type HttpServer, type ListenOptions, type Route } from "./server.ts";
export { refuse, type ServedLink } from "./served.ts";
export { digestOf, sameToken, tokenOf } from "./token.ts";
