import type { Instant } from '@gantry/base';
import type { KubeObject } from '@gantry/objects';
import type { AdmissionRequest } from '../../admission/index.ts';
import type { Allocation, Allocators } from '../../allocators/allocators.ts';
import type { Entry } from '../../cache/index.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { Fence } from '../../storage/object-store.ts';
import type { AdmissionChain, Lookups } from './admission-chain.ts';
import type { Outcome } from './attempts.ts';
import type { Committer } from './committer.ts';
import type { RegistryDependencies } from '../contract/dependencies.ts';
import type { Reader } from '../reading/reader.ts';
import type { Target, WriteOptions, WriteRequest } from '../contract/registry.ts';

/** What every write works with. */
export interface WriteParts {
  readonly deps: RegistryDependencies;
  readonly admission: AdmissionChain;
  readonly allocators: Allocators;
  readonly committer: Committer;
  readonly reader: Reader;
}

/** What a body says. Where it says more than the object, that holds instead of what the request said. */
export interface Decoded<Sent> {
  readonly sent: Sent;
  /** The object that the body names, for resources that are only posted. */
  readonly target?: Target;
  /** For deletions: DeleteOptions may ask for a dry run. */
  readonly options?: WriteOptions;
  /** The resourceVersion that the client has seen: the cache gets a moment to reach it. */
  readonly seenVersion?: string;
}

/** A write whose body was decoded. */
export interface Write<Sent> extends WriteRequest, Decoded<Sent> {
  readonly target: Target;
  readonly options: WriteOptions;
  readonly fence: Fence | undefined;
  /** Whether rights that depend on the object are still to be asked for, or the whole right was granted already. */
  readonly rights: 'depend-on-object' | 'granted';
}

/** The object from which an attempt starts. */
export interface StoredState {
  /** As it is stored. */
  readonly entry: Entry;
  /** As the version of the request shows it. */
  readonly shown: Entry;
  readonly object: KubeObject;
}

/** One attempt at a write. */
export interface Attempt<Sent = unknown> extends Write<Sent> {
  /** Undefined when there is no object. */
  readonly stored: StoredState | undefined;
  readonly now: Instant;
}

/** What distinguishes a verb from the others. The pipeline fixes the order. */
export interface WriteVerb<Body, Sent> {
  /** The verb whose right is asked for. */
  readonly right: 'create' | 'update' | 'patch' | 'delete';
  /** A creation presumes that there is no object. A verb whose object is answered and not stored needs no state and no fence. */
  readonly startsFrom: 'nothing' | 'stored' | 'not-stored';
  /** Reads the body and decodes it. Called once, after authorisation. */
  readonly decode: (request: WriteRequest, body: Body) => Promise<Decoded<Sent>>;
  /** The object that this verb makes of the stored one; undefined when there is none and the verb needs one. */
  readonly draft: (parts: WriteParts, attempt: Attempt<Sent>) => Draft | undefined;
  /** The response, where that is not the object that was written. */
  readonly respond?: (response: ObjectResponse, write: Write<Sent>) => ObjectResponse;
}

/** An object on its way into the store. The pipeline calls the steps in the order in which they stand here. */
export interface Draft {
  /** The object; the steps change it in place. */
  readonly object: KubeObject;
  /** Records the manager of the fields that changed. */
  record(): void;
  /** What admission judges. */
  admissionRequest(): AdmissionRequest;
  /**
   * Restores the fields that only the server sets. Returns what the validating checks judge: `admitted`, with the name
   * that a new object was given. Its object is a view of `object`, not `object`, for a Scale or a Binding.
   */
  restore(admitted: AdmissionRequest): AdmissionRequest;
  /** Sets what the kind's strategy sets. */
  prepare(): void;
  /** Rejects with Invalid. May take several turns of the event loop. */
  validate(): Promise<void>;
  /** Claims what must be unique in the cluster. */
  claim(): Promise<Allocation>;
  /** Stores the object, while each of the claims is in the version that was made or found for it. */
  commit(claims: Allocation['claims'], lookups: Lookups): Promise<Outcome>;
}
