export { FLUNDERS, wardleApiService } from './api-services.ts';
export { establishedDefinition, WIDGETS } from './custom-definitions.ts';
export { silentLog } from './silent-log.ts';
