import { Button, type ButtonProps } from 'react-aria-components'
import { type ButtonLook, buttonClasses } from './Button'

interface TriggerButtonProps extends ButtonLook, Omit<ButtonProps, 'className'> {}

/** A button in a MenuTrigger or DialogTrigger of React Aria, which opens the menu or dialog. */
export function TriggerButton({ look, small, icon, className, ...rest }: TriggerButtonProps) {
  return <Button {...rest} className={buttonClasses({ look, small, icon, className })} />
}
