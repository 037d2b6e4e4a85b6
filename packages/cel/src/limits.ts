/** Most that one evaluation of one expression may cost. */
export const PER_CALL_LIMIT = 1_000_000;

/** Most that all rules of one custom resource, or all expressions of one admission, may cost together in one request. */
export const RUNTIME_COST_BUDGET = 10_000_000;

/** Most that all matchConditions of one webhook or policy may cost together. */
export const MATCH_CONDITIONS_COST_BUDGET = 2_500_000;

/** Bytes of the largest request, which bounds every value without a bound in its schema. */
export const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** Most that one evaluation of the rule may cost by estimate, and all rules of one CustomResourceDefinition together. */
export const ESTIMATED_COST_LIMIT = 10_000_000;
export const ESTIMATED_TOTAL_COST_LIMIT = 100_000_000;

/** Bytes of the longest message that a messageExpression may yield. */
export const MAX_MESSAGE_BYTES = 5 * 1024;
