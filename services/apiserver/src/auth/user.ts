import { ADMINISTRATORS, API_SERVERS, type UserInfo } from '@gantry/objects';

/** The user of the apiserver's own requests. */
export const APISERVER: User = {
  name: 'system:apiserver',
  uid: '',
  groups: [ADMINISTRATORS, API_SERVERS, 'system:authenticated'],
  extra: {},
};

/** An authenticated user. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** A user as `authentication.k8s.io/v1` UserInfo, without empty fields. */
export function userInfo({ name, uid, groups, extra }: User): UserInfo {
  const values = Object.entries(extra).map(([key, texts]): [string, string[]] => [key, [...texts]]);
  return {
    username: name,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(values.length === 0 ? {} : { extra: Object.fromEntries(values) }),
  };
}
