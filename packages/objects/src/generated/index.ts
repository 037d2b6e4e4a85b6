/** The types of all built-in kinds and the constants of their resources, for a package that exports them to its users. */
export * from './constants/resources.ts';
export type * from './types.ts';
