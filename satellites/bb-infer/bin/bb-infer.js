#!/usr/bin/env node
import { launch } from "bytebot/launch";

launch("bb-infer", import.meta.url, new URL("../dist/cli/main.js", import.meta.url));
