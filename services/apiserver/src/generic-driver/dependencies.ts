import type { Clock, NewUid, Random } from '@gantry/base';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Reviewer } from '../auth/access-reviews.ts';
import type { WriteGuard } from '../auth/write-guard.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Access } from '../admission/index.ts';
import type { Authorizer } from '../driver.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { StoreHealth } from './component-statuses.ts';
import type { TokenIssuer } from './token-issuer.ts';

/** What the driver decides by, fixed at start. */
export interface DriverSettings {
  /** Range of Service addresses, `10.96.0.0/16`. */
  readonly serviceCidr: string;
  /** Seconds that pods without tolerations of their own tolerate a node that is not ready or unreachable. */
  readonly defaultTolerationSeconds: number;
}

/** What the driver works with. `cache` must be running (`cache.run`) and ready before requests are let in. */
export interface DriverDependencies {
  readonly store: ObjectStore;
  readonly cache: WatchCache;
  readonly authorizer: Authorizer;
  /** Tells expressions who may do what; everybody may all when absent. */
  readonly access?: Access;
  /** Refuses writes by what they would do; none are when absent. */
  readonly guard?: WriteGuard;
  /** Answers reviews; they come back unanswered when absent. */
  readonly reviewer?: Reviewer;
  /** How the members of the store are; nothing is told of them when absent. */
  readonly storeHealth?: StoreHealth;
  /** What is served now; watches end with what they watch. All of it lasts when absent. */
  readonly catalogue?: Catalogue;
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: NewUid;
  readonly tokenIssuer: TokenIssuer;
  readonly settings: DriverSettings;
}
