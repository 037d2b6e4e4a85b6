import type { User } from './user.ts';

/** The group of the certificates of all apiservers. */
export const APISERVERS = 'gantry:apiservers';

/** The user that the apiserver's own requests are made as. */
export const APISERVER: User = {
  name: 'system:apiserver',
  uid: '',
  groups: ['system:masters', APISERVERS, 'system:authenticated'],
  extra: {},
};
