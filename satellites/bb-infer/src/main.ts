import * as bb from "bytebot/sdk";
import { main } from "./index.ts";

await bb.run(main);
