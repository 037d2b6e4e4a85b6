import { createController } from './controller.ts';

/** What `main.ts` runs, the tests simulate, and `manifests.ts` makes the rights from. */
export const operator = () => ({
  name: 'greeter',
  leaderElection: { namespace: 'greeter' },
  controllers: [createController()],
});
