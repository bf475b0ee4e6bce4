/** What a blob costs beside its bytes: a million blobs of one byte are not free. */
export const BLOB_BYTES = 512;
