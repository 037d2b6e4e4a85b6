export { API_SERVICES, DEFINITIONS } from '../resource-directory.ts';
export { wardleApiService } from './api-services.ts';
export { establishedDefinition } from './custom-definitions.ts';
export { silentLog } from './silent-log.ts';
