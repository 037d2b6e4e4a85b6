export { silentLog } from './silent-log.ts';
