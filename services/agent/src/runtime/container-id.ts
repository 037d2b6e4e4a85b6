/** `docker://<id>`, the form of container ids in statuses. */
export function containerId(state: { readonly id: string }): string {
  return `docker://${state.id}`;
}
