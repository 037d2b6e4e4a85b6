/** The gRPC endpoint to the registry. */
export { objectService, type ObjectServiceOptions } from './object-service.ts';
