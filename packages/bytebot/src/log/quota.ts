import { BytebotError } from "../wire/index.ts";

export interface BlobQuota {
  /** Bytes of one tenant. */
  tenantBytes: number;
  /** Bytes in all. */
  totalBytes: number;
}

const MiB = 1024 * 1024;

/** Who uses how much of what blobs may take. */
export class Quota {
  private readonly limits: BlobQuota;
  private total: number;
  /** Of one tenant, where it is kept elsewhere. */
  private readonly kept: (tenant: string) => number;
  private readonly used = new Map<string, number>();

  constructor(limits: Partial<BlobQuota>, total = 0, kept: (tenant: string) => number = () => 0) {
    this.limits = { tenantBytes: 256 * MiB, totalBytes: 1024 * MiB, ...limits };
    this.total = total;
    this.kept = kept;
  }

  /** Bytes of one tenant, or of all. */
  bytes(tenant?: string): number {
    return tenant === undefined ? this.total : (this.used.get(tenant) ?? 0) + this.kept(tenant);
  }

  /** Throws `overloaded` where it is more than there may be; nothing is taken then. */
  take(tenant: string, bytes: number): void {
    if (bytes > 0) this.mustFit(tenant, bytes);
    const own = (this.used.get(tenant) ?? 0) + bytes;
    this.total += bytes;
    if (own > 0) this.used.set(tenant, own);
    else this.used.delete(tenant);
  }

  /** So much more of its is kept elsewhere. */
  keep(bytes: number): void {
    this.total += bytes;
  }

  private mustFit(tenant: string, bytes: number): void {
    const own = this.bytes(tenant) + bytes;
    const { tenantBytes, totalBytes } = this.limits;
    if (own <= tenantBytes && this.total + bytes <= totalBytes) return;
    const whose = own > tenantBytes ? "this tenant's" : "all tenants'";
    const limit = own > tenantBytes ? tenantBytes : totalBytes;
    throw new BytebotError("overloaded", `${whose} blobs are over their ${limit} bytes: nothing more is kept`);
  }
}
