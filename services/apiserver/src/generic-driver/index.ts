/**
 * The one way to objects for both doors. `createDriver` wants a watch cache that runs; `bootstrap` makes the objects that every
 * cluster has.
 */
export type { DriverDependencies, DriverSettings } from './dependencies.ts';
export { createDriver } from './driver.ts';
export type { BoundObject, TokenIssuer } from './token-issuer.ts';
export type { ComponentHealth, StoreHealth } from './component-statuses.ts';
export { isStream, streamOptions } from './subresources/streams.ts';
