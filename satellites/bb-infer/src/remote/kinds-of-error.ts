/** The vendors' own words for kinds of errors, as the HTTP status that says the same. */
const byName: Readonly<Record<string, number>> = {
  // OpenAI and what imitates it
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  invalid_api_key: 401,
  model_not_found: 404,
  context_length_exceeded: 413,
  exceed_context_size_error: 413,
  server_error: 500,
  // Anthropic
  rate_limit_error: 429,
  overloaded_error: 529,
  authentication_error: 401,
  permission_error: 403,
  billing_error: 402,
  not_found_error: 404,
  request_too_large: 413,
  timeout_error: 504,
  api_error: 500,
  invalid_request_error: 400,
  // Google
  RESOURCE_EXHAUSTED: 429,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  DEADLINE_EXCEEDED: 504,
  UNAVAILABLE: 503,
  INTERNAL: 500,
  // Bedrock
  ThrottlingException: 429,
  throttlingException: 429,
  ServiceQuotaExceededException: 429,
  AccessDeniedException: 403,
  UnrecognizedClientException: 401,
  ExpiredTokenException: 401,
  ResourceNotFoundException: 404,
  ValidationException: 400,
  validationException: 400,
  ModelTimeoutException: 504,
  ModelStreamErrorException: 500,
  modelStreamErrorException: 500,
  InternalServerException: 500,
  internalServerException: 500,
  ServiceUnavailableException: 503,
  serviceUnavailableException: 503,
  ModelNotReadyException: 503,
};

/** Sentences of servers that have no word for it. */
const TOO_LONG =
  /prompt is too long|input is too long|too many (?:input )?tokens|maximum context length|context (?:size|window|length)|exceeds? the (?:maximum|max|available) (?:number of tokens|context)|input token count/i;
const NO_CREDIT =
  /credit balance|insufficient (?:credit|funds|balance|quota)|exceeded your current quota|enable billing|billing hard limit/i;
const NO_KEY = /api key not valid|invalid api key|api_key_invalid/i;

/** What a server's words for an error come to. */
export function kindOf(words: readonly unknown[], text: string): { status?: number; broke?: boolean } {
  const names = words.map(String).filter((word) => Object.hasOwn(byName, word));
  const [name] = names;
  const status = name === undefined ? undefined : byName[name];
  if (names.includes("insufficient_quota")) return { status: 402, broke: true };
  // Where the server has a word for it, its sentences are only read for what the word leaves open.
  if (status === undefined || status === 400) {
    if (NO_CREDIT.test(text)) return { status: 402, broke: true };
    if (TOO_LONG.test(text)) return { status: 413 };
    if (NO_KEY.test(text)) return { status: 401 };
  }
  return status === undefined ? {} : { status };
}

/** Google's `RetryInfo` among the details of an error, in milliseconds. */
export function retryDelay({ details }: { details?: unknown }): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const delays = details.map((detail: unknown) => {
    const { retryDelay: delay } = (detail ?? {}) as { retryDelay?: unknown };
    return typeof delay === "string" ? delay : "";
  });
  return delays.map((delay) => Number(/^(\d[\d.]*)s$/.exec(delay)?.[1]) * 1000).find((ms) => Number.isFinite(ms));
}
