import t from 'tap'
import { long } from '../support/long.js'
import { temporaryDirectory } from '../support/processes.js'
import { killEitherNode } from './two-nodes.js'

const kills = long ? 8 : 2

t.setTimeout(900_000)

t.test(`two nodes on one directory keep the guarantees of one node after ${kills} kills`, async (t) => {
  const directory = temporaryDirectory(t)
  await killEitherNode(t, { directory, environment: {}, kills })
})
