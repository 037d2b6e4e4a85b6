/** Cost limit of one evaluation of one expression. */
export const PER_CALL_LIMIT = 1_000_000;

/** Cost limit per request of all rules of one custom resource, or of all expressions of one admission. */
export const RUNTIME_COST_BUDGET = 10_000_000;

/** Cost limit of all matchConditions of one webhook or policy together. */
export const MATCH_CONDITIONS_COST_BUDGET = 2_500_000;

/** Size of the largest request in bytes; bounds every value without a limit in its schema. */
export const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** Limits of the estimated cost: of one rule, and of all rules of one CustomResourceDefinition. */
export const ESTIMATED_COST_LIMIT = 10_000_000;
export const ESTIMATED_TOTAL_COST_LIMIT = 100_000_000;

/** Maximum size in bytes of the result of a messageExpression. */
export const MAX_MESSAGE_BYTES = 5 * 1024;
