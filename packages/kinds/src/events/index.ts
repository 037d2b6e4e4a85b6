import type { ResourceDefinition } from '@gantry/apimachinery';
import { eventsEvents } from './event.ts';

/** The kinds of `events.k8s.io`, in discovery's order. */
export const eventsKinds: readonly ResourceDefinition[] = [eventsEvents];
