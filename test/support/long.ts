/** `npm run test:long`: what takes minutes, and the full number of rounds of what `npm test` runs in a short form. */
export const long = process.env.TEST_LONG === '1'
