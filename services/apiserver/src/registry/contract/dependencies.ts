import type { UsageSource } from '../../agents/usage-source.ts';
import type { PodSecurityExemptions } from '@gantry/kinds';
import type { Clock, NewUid, Random } from '@gantry/base';
import type { Turns } from '../../turns.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Reviewer } from '../../auth/access-reviews.ts';
import type { EscalationCheck } from '../../auth/authz/escalation-check.ts';
import type { ResourceRegistry } from '../../resource-registry.ts';
import type { Access } from '../../admission/index.ts';
import type { Authorizer } from '../../auth/authz/authorizer.ts';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import type { ObjectStore } from '../../storage/object-store.ts';
import type { TokenIssuer } from '../../auth/authn/token-issuer.ts';
import type { WebhookCaller } from '../../webhooks/index.ts';

/** The health of one part of the cluster. */
export interface ComponentHealth {
  readonly name: string;
  readonly state: 'healthy' | 'unhealthy';
  /** `ok`, or the problem. */
  readonly message: string;
}

/** The health of the store's members. Never fails: a member that does not respond is unhealthy. */
export type StoreHealth = (signal: AbortSignal) => Promise<readonly ComponentHealth[]>;

/** What the registry decides by, fixed at start. */
export interface RegistrySettings {
  /** Range of Service addresses, `10.96.0.0/16`. */
  readonly serviceCidr: string;
  /** Seconds that pods without tolerations of their own tolerate a node that is not ready or unreachable. */
  readonly defaultTolerationSeconds: number;
  readonly podSecurityExemptions: PodSecurityExemptions;
}

/** What the registry works with. `cache` must be running (`cache.run`) and ready before requests are let in. */
export interface RegistryDependencies {
  readonly store: ObjectStore;
  readonly cache: WatchCache;
  /** Decides who may do what: for requests, and for expressions that ask. */
  readonly authorizer: Authorizer & Access;
  /** What rights depend on, from the cache. */
  readonly lookup: ObjectLookup;
  /** Refuses writes that would give rights which the user does not have. */
  readonly escalationCheck: EscalationCheck;
  /** Answers access and token reviews. */
  readonly reviewer: Reviewer;
  /** The health of the store's members, for ComponentStatuses. */
  readonly storeHealth: StoreHealth;
  /** What nodes and pods use, for metrics.k8s.io. */
  readonly usage: UsageSource;
  /** The resources that are served now. A watch ends when its resource is no longer served. */
  readonly resourceRegistry: ResourceRegistry;
  readonly clock: Clock;
  /** For what may take long: rules of objects, expressions of policies. */
  readonly turns: Turns;
  readonly random: Random;
  readonly newUid: NewUid;
  readonly tokenIssuer: TokenIssuer;
  /** Posts reviews to admission webhooks. */
  readonly webhookCaller: WebhookCaller;
  readonly settings: RegistrySettings;
}
