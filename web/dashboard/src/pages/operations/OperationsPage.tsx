import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { Checks } from './Checks'
import { Nodes } from './Nodes'
import { Parked } from './Parked'
import { Problems } from './Problems'
import { Projections } from './Projections'
import { Stuck } from './Stuck'
import './operations.css'

/** What stands still first, then what should go on by itself. */
export function OperationsPage() {
  const text = useText()
  return (
    <Page title={text('operations.title')}>
      <Problems />
      <div className="Operations-columns">
        <div className="stack">
          <Projections />
          <Nodes />
        </div>
        <div className="stack">
          <Stuck />
          <Parked />
          <Checks />
        </div>
      </div>
    </Page>
  )
}
