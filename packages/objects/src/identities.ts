import { ENGINE_LABEL } from './hosts.ts';

/** The group of administrators, which has all rights. */
export const ADMINISTRATORS = 'system:masters';

/** The group of API servers, as an organization in their certificates. */
export const API_SERVERS = 'gantry:apiservers';

/** The group of the other fixed services; the rights of each follow from its name. */
export const FIXED_SERVICES = 'gantry:services';

/** The group of agents, whose users are `system:node:` and the name of their Node. */
export const NODES_GROUP = 'system:nodes';
export const NODE_USER_PREFIX = 'system:node:';

/** Groups whose rights are not limited by roles: the signer of ordinary clients issues no certificates for them. */
export const UNLIMITED_GROUPS: ReadonlySet<string> = new Set([ADMINISTRATORS, FIXED_SERVICES, API_SERVERS]);

/**
 * Prefix of the organizational unit in an agent's certificate that names its Docker engine; the agent may act as that engine's custodian.
 */
export const ENGINE_UNIT = 'gantry:engine:';

/** The extra value of an agent's user that holds the engine of its certificate; it has the name of the Node's label. */
export const ENGINE_EXTRA = ENGINE_LABEL;

/**
 * The gRPC port at which the DNS and the proxies say what they do. A proxy listens at its host's address on the pod bridge
 * (`gatewayOf`).
 */
export const REPORT_PORT = 10_258;

/** The signer that renews certificates of fixed services. */
export const SERVICE_SIGNER = 'gantry.dev/service';

/** A leader's Lease, annotation: the time to live of its lease in etcd, in milliseconds. It becomes longer while renewals are late. */
export const LEASE_TTL_ANNOTATION = 'gantry.dev/lease-ttl-ms';
