import type { KubeObject } from '@gantry/objects';
import { actsFor } from '../../auth/authz/acts-for.ts';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import type { Access, AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';

/** A request of an agent, and the lookups of the rules. */
export interface AgentRequest {
  readonly request: AdmissionRequest;
  /** The node of the agent. */
  readonly node: string;
  readonly reader: AdmissionReader;
  readonly lookup: ObjectLookup;
  readonly access: Access;
}

/** The name of the written object: from the path, or from the body for a create. */
export function writtenName({ name, object }: Pick<AdmissionRequest, 'name' | 'object'>): string {
  return name === '' ? ((object as Partial<KubeObject>).metadata?.name ?? '') : name;
}

/** Whether the agent may act for a node: its own, or another one of its engine as the custodian. */
export function isActedFor({ request, lookup }: AgentRequest, node: string | undefined): boolean {
  return actsFor(request.user, node, lookup);
}
