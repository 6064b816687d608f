/** Whether this is `npm run test:long`, which adds the tests that take minutes and runs all rounds of the others. */
export const long = process.env.TEST_LONG === '1'
