/** Whether `npm run test:long` runs, with tests that take minutes and the full number of rounds of the others. */
export const long = process.env.TEST_LONG === '1'
