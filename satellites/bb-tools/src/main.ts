import { run } from "bytebot/sdk";
import { main } from "./index.ts";

await run(main);
