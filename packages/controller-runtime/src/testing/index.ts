export { FLUNDERS, wardleApiService } from './api-services.ts';
export { establishedDefinition, WIDGETS } from './custom-definitions.ts';
export { silentLog } from './silent-log.ts';
export { Activity } from './activity.ts';
export { createDice, type Dice } from './dice.ts';
export { createDisturbedClient, type Faults, readDisturbed } from './disturbed-client.ts';
