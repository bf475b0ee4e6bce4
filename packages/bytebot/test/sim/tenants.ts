export const TENANTS = ["ta", "tb", "tc"];
