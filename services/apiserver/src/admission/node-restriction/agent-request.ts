import type { KubeObject } from '@gantry/objects';
import { actsFor } from '../../auth/authz/acts-for.ts';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import type { Access, AdmissionReader, AdmissionRequest } from '../check/admission-check.ts';

/** A request of an agent, and what the rules look up. */
export interface AgentRequest {
  readonly request: AdmissionRequest;
  /** The node of the agent. */
  readonly node: string;
  readonly reader: AdmissionReader;
  readonly lookup: ObjectLookup;
  readonly access: Access;
}

/** The name of what is written: of the path, or of the body of a create. */
export function writtenName({ name, object }: Pick<AdmissionRequest, 'name' | 'object'>): string {
  return name === '' ? ((object as Partial<KubeObject>).metadata?.name ?? '') : name;
}

/** Whether the agent acts for a node: its own, or one of its engine as the custodian. */
export function isActedFor({ request, lookup }: AgentRequest, node: string | undefined): boolean {
  return actsFor(request.user, node, lookup);
}
