import { useText } from '../../app/texts'
import { Page } from '../../components/Page'
import { DoctorChecks } from './DoctorChecks'
import { Nodes } from './Nodes'
import { OperationsProblems } from './OperationsProblems'
import { ParkedCallbacks } from './ParkedCallbacks'
import { ProjectionList } from './ProjectionList'
import { StuckTransfers } from './StuckTransfers'
import { UnreadableEvents } from './UnreadableEvents'
import './OperationsPage.css'

/** Shows problems first: unreadable events, which stop work, and everything else that needs a person, above the state of what runs. */
export function OperationsPage() {
  const text = useText()
  return (
    <Page title={text('operations.title')}>
      <UnreadableEvents />
      <OperationsProblems />
      <ProjectionList />
      <StuckTransfers />
      <Nodes />
      <div className="Operations-columns">
        <ParkedCallbacks />
        <DoctorChecks />
      </div>
    </Page>
  )
}
