import t from 'tap'
import { killEitherNode } from '../crash/two-nodes.js'
import { temporaryDirectory } from '../support/processes.js'

const kills = 8

t.setTimeout(900_000)

t.test(`two nodes on one directory keep the guarantees of one node after ${kills} kills`, async (t) => {
  const directory = temporaryDirectory(t)
  await killEitherNode(t, { directory, environment: {}, kills })
})
