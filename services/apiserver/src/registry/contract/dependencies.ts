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

/** Settings of the registry, fixed at start. */
export interface RegistrySettings {
  /** Range of Service addresses, such as `10.96.0.0/16`. */
  readonly serviceCidr: string;
  /** How many seconds pods without own tolerations stay on a node that is not ready or unreachable. */
  readonly defaultTolerationSeconds: number;
  readonly podSecurityExemptions: PodSecurityExemptions;
}

/** Dependencies of the registry. `cache` must run (`cache.run`) and be ready before the first request. */
export interface RegistryDependencies {
  readonly store: ObjectStore;
  readonly cache: WatchCache;
  /** Authorises requests. CEL expressions use it as well. */
  readonly authorizer: Authorizer & Access;
  /** The cached objects on which rights depend. */
  readonly lookup: ObjectLookup;
  /** Rejects writes that would grant rights that the user does not have. */
  readonly escalationCheck: EscalationCheck;
  /** Handles access reviews and token reviews. */
  readonly reviewer: Reviewer;
  /** The health of the store's members, for ComponentStatuses. */
  readonly storeHealth: StoreHealth;
  /** Resource usage of nodes and pods, for metrics.k8s.io. */
  readonly usage: UsageSource;
  /** The resources that are served now. A watch ends when its resource is no longer served. */
  readonly resourceRegistry: ResourceRegistry;
  readonly clock: Clock;
  /** Splits long evaluations of CEL expressions over several turns of the event loop. */
  readonly turns: Turns;
  readonly random: Random;
  readonly newUid: NewUid;
  readonly tokenIssuer: TokenIssuer;
  /** Posts reviews to admission webhooks. */
  readonly webhookCaller: WebhookCaller;
  readonly settings: RegistrySettings;
}
