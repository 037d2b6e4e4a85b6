import { ENGINE_LABEL } from './hosts.ts';

/** The group of administrators: everything is allowed to it. */
export const ADMINISTRATORS = 'system:masters';

/** The group of API servers, as an organization in their certificates. */
export const API_SERVERS = 'gantry:apiservers';

/** The group of the other fixed services: what one of them may do follows from its name. */
export const FIXED_SERVICES = 'gantry:services';

/** The group of agents, whose users are `system:node:` and the name of their Node. */
export const NODES_GROUP = 'system:nodes';
export const NODE_USER_PREFIX = 'system:node:';

/** Groups whose rights no role limits: the signer of ordinary clients gives no certificate for them. */
export const UNLIMITED_GROUPS: ReadonlySet<string> = new Set([ADMINISTRATORS, FIXED_SERVICES, API_SERVERS]);

/** Begins the unit of an agent's certificate that names its Docker engine, as whose custodian the agent may act. */
export const ENGINE_UNIT = 'gantry:engine:';

/** The extra value of an agent's user with the engine of its certificate; named like the Node's label. */
export const ENGINE_EXTRA = ENGINE_LABEL;

/** The signer that renews certificates of fixed services. */
export const SERVICE_SIGNER = 'gantry.dev/service';
