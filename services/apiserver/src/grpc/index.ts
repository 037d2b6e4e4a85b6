/** The gRPC door to the driver. */
export { objectService, type ObjectServiceOptions } from './object-service.ts';
