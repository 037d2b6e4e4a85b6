import type { Instant } from '@gantry/base';
import type { KubeObject } from '@gantry/objects';
import type { AdmissionRequest } from '../../admission/index.ts';
import type { Allocation, Allocators } from '../../allocators/allocators.ts';
import type { Entry } from '../../cache/index.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { AdmissionChain, Lookups } from './admission-chain.ts';
import type { Outcome } from './attempts.ts';
import type { Committer } from './committer.ts';
import type { RegistryDependencies } from '../contract/dependencies.ts';
import type { Reader } from '../reading/reader.ts';
import type { Target, WriteOptions, WriterFence, WriteRequest } from '../contract/registry.ts';

/** The dependencies of every write. */
export interface WriteParts {
  readonly deps: RegistryDependencies;
  readonly admission: AdmissionChain;
  readonly allocators: Allocators;
  readonly committer: Committer;
  readonly reader: Reader;
}

/** The content of a request body. Fields that are set replace those of the request. */
export interface Decoded<Sent> {
  readonly sent: Sent;
  /** The object that the body names, for resources that support only create. */
  readonly target?: Target;
  /** For deletes: the body (DeleteOptions) may request a dry run. */
  readonly options?: WriteOptions;
  /** The resourceVersion that the client has read. The write waits a short time until the cache has reached it. */
  readonly seenVersion?: string;
}

/** A write whose body was decoded. */
export interface Write<Sent> extends WriteRequest, Decoded<Sent> {
  readonly target: Target;
  readonly options: WriteOptions;
  readonly fence: WriterFence | undefined;
  /** 'depend-on-object': the authorizer decides again when the object is known. 'granted': the write is fully authorised already. */
  readonly rights: 'depend-on-object' | 'granted';
}

/** The object from which an attempt starts. */
export interface StoredState {
  /** The object in its storage version. */
  readonly entry: Entry;
  /** The object in the version of the request. */
  readonly shown: Entry;
  readonly object: KubeObject;
}

/** One attempt of a write. */
export interface Attempt<Sent = unknown> extends Write<Sent> {
  /** Undefined when there is no object. */
  readonly stored: StoredState | undefined;
  readonly now: Instant;
}

/** The steps that differ between verbs. The pipeline defines their order. */
export interface WriteVerb<Body, Sent> {
  /** The verb that the user must be allowed. */
  readonly right: 'create' | 'update' | 'patch' | 'delete';
  /**
   * The state before the write. 'nothing': a create assumes that the object does not exist. 'not-stored': the result is returned and not
   * stored, so the verb needs no stored state and no fence.
   */
  readonly startsFrom: 'nothing' | 'stored' | 'not-stored';
  /** Reads and decodes the body. Called once, after authorisation. */
  readonly decode: (request: WriteRequest, body: Body) => Promise<Decoded<Sent>>;
  /** Makes the new object from the stored one. Undefined when the verb needs a stored object and there is none. */
  readonly draft: (parts: WriteParts, attempt: Attempt<Sent>) => Draft | undefined | Promise<Draft | undefined>;
  /** Makes the response, if it is not the written object. */
  readonly respond?: (response: ObjectResponse, write: Write<Sent>) => ObjectResponse;
}

/** An object that is about to be stored. The pipeline calls the methods in this order. */
export interface Draft {
  /** The object; the steps change it in place. */
  readonly object: KubeObject;
  /** Records the field manager of the changed fields. */
  record(): void | Promise<void>;
  /** The request that admission checks. */
  admissionRequest(): AdmissionRequest;
  /**
   * Restores the fields that only the server may set. Returns the request for the validating checks: `admitted`, with the generated name
   * of a new object. For a Scale or a Binding, the object of that request is a view and not `object` itself.
   */
  restore(admitted: AdmissionRequest): AdmissionRequest;
  /** Runs the strategy of the kind, which sets its fields. */
  prepare(): void;
  /** Rejects with a StatusError Invalid. May take several turns of the event loop. */
  validate(): Promise<void>;
  /** Claims values that must be unique in the cluster, such as addresses. */
  claim(): Promise<Allocation>;
  /** Stores the object if all claims still have the version in which they were created or found. */
  commit(claims: Allocation['claims'], lookups: Lookups): Promise<Outcome>;
}
