import type { Api } from '../api/http.ts';

/** Cordons a node, or ends that. */
export async function setUnschedulable(api: Api, node: string, isUnschedulable: boolean): Promise<void> {
  await api.fetch(`/api/v1/nodes/${encodeURIComponent(node)}?fieldManager=gantry-console`, {
    method: 'PATCH',
    contentType: 'application/merge-patch+json',
    body: { spec: { unschedulable: isUnschedulable ? true : null } },
  });
}
