export { DialedLink, type DialOptions } from "./dialed.ts";
export { Endpoint, refuseForm, type EndpointOptions } from "./endpoint.ts";
export { isLoopback } from "./guard.ts";
export { isLines } from "./headers.ts";
export { pause } from "./pause.ts";
export { answerOf, Client, textOf } from "./request.ts";
export { isWide, listenHttp, type HttpServer, type ListenOptions, type Route } from "./server.ts";
export { refuse, type ServedLink } from "./served.ts";
export { digestOf, sameToken, tokenOf } from "./token.ts";
