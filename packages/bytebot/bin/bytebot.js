#!/usr/bin/env node
import { launch } from "./launch.js";

launch("bytebot", import.meta.url, new URL("../dist/cli/main.js", import.meta.url));
