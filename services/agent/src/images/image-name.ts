const DEFAULT_HOST = 'docker.io';

/** The full name of an image's repository, without tag and digest: `docker.io/library/nginx` for `nginx:1.27`. */
export function repositoryOf(image: string): string {
  const name = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  const [first = '', ...rest] = name.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const host = !isHost || first === 'index.docker.io' ? DEFAULT_HOST : first;
  const path = isHost ? rest.join('/') : name;
  return host === DEFAULT_HOST && !path.includes('/') ? `${host}/library/${path}` : `${host}/${path}`;
}

/** The tag of an image's name; `latest` without one. */
export function tagOf(reference: string): string {
  return /:([^/:]*)$/.exec(reference.replace(/@.*$/, ''))?.[1] ?? 'latest';
}
