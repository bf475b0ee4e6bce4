/** Component references → manifest → a way to reach it; and the app file that lists them. */
export * from "./appfile.ts";
export * from "./manifest.ts";
export * from "./reference.ts";
export * from "./resolve.ts";
