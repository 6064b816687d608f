import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { DoctorChecks } from './DoctorChecks'
import { Nodes } from './Nodes'
import { ParkedCallbacks } from './ParkedCallbacks'
import { ProjectionList } from './ProjectionList'
import { StuckTransfers } from './StuckTransfers'
import { UnreadableEvents } from './UnreadableEvents'
import './OperationsPage.css'

/** Shows unreadable events, which stop work, above the state of everything that runs. */
export function OperationsPage() {
  const text = useText()
  return (
    <Page title={text('operations.title')}>
      <UnreadableEvents />
      <div className="Operations-columns">
        <div className="stack">
          <ProjectionList />
          <Nodes />
        </div>
        <div className="stack">
          <StuckTransfers />
          <ParkedCallbacks />
          <DoctorChecks />
        </div>
      </div>
    </Page>
  )
}
