/** The gRPC door to the driver. Give it, and REST, the fenced driver. */
export { createFencedDriver } from './fenced-driver.ts';
export { objectService, type ObjectServiceOptions } from './object-service.ts';
