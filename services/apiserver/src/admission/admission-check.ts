import type { KubeObject, ResourceDefinition, ResourceRef } from '@gantry/api';
import type { User } from '../driver.ts';

/** What is about to happen to an object. `object` is the request's own copy: `mutate` may change it. */
export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete';
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  /** '' for a create whose name is generated. */
  readonly name: string;
  readonly subresource: string;
  /** The new object; what is stored for a delete. */
  readonly object: KubeObject;
  /** What is stored, for updates. */
  readonly old: KubeObject | undefined;
  readonly user: User;
}

/** What checks may look up. */
export interface AdmissionReader {
  /** The object as it is known: from the cache, and when it is not there from the store itself. */
  find<T extends KubeObject = KubeObject>(
    resource: ResourceRef,
    namespace: string,
    name: string,
  ): Promise<T | undefined>;
}

/**
 * One rule on requests beyond an object's own validity. `mutate` runs before the kind's own preparation and must be
 * idempotent; `validate` runs after the kind's own validation. Both refuse by throwing StatusError.
 */
export interface AdmissionCheck {
  readonly name: string;
  readonly mutate?: (request: AdmissionRequest, reader: AdmissionReader) => Promise<void> | void;
  readonly validate?: (request: AdmissionRequest, reader: AdmissionReader) => Promise<void> | void;
}
