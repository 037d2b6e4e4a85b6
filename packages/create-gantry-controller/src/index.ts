/** Begins a project with a controller: `main` is what `npm create gantry-controller NAME` runs. */
export { main } from './main.ts';
