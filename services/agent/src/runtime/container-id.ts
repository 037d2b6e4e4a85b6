const ENGINE = 'docker://';

/** `docker://<id>`, the form of container ids in statuses. */
export function containerId(state: { readonly id: string }): string {
  return `${ENGINE}${state.id}`;
}

/** The engine's id of a container, by the id in its status; '' where the status has none. */
export function engineIdOf({ containerID = '' }: { readonly containerID?: string }): string {
  return containerID.startsWith(ENGINE) ? containerID.slice(ENGINE.length) : containerID;
}
