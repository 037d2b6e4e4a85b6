import { ADMINISTRATORS, API_SERVERS } from '@gantry/objects';
import type { User } from './user.ts';

/** The user that the apiserver's own requests are made as. */
export const APISERVER: User = {
  name: 'system:apiserver',
  uid: '',
  groups: [ADMINISTRATORS, API_SERVERS, 'system:authenticated'],
  extra: {},
};
