export { establishedDefinition } from './custom-definitions.ts';
export { silentLog } from './silent-log.ts';
