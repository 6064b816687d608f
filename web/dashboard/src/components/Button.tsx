import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes } from 'react'
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components'
import './Button.css'

/** `bad`: opens the question of a permanent action, whose answer is a `danger` button. */
export type Look = 'primary' | 'plain' | 'danger' | 'bad' | 'quiet'

export interface ButtonProps extends Omit<AriaButtonProps, 'className' | 'isPending'> {
  readonly look?: Look | undefined
  readonly small?: boolean
  /** The content is one icon, and `aria-label` is the name. */
  readonly icon?: boolean
  /** The action is in progress, and further presses are ignored. */
  readonly pending?: boolean | undefined
  readonly className?: string
}

/** Does not use React Aria's `isPending`, whose announcement refers to an element that is removed together with the button. */
export function Button(props: ButtonProps) {
  const { look = 'plain', small = false, icon = false, pending = false, className = '', onPress, ...rest } = props
  const size = `${small ? 'Button-small' : ''} ${icon ? 'Button-icon' : ''}`
  const classes = `Button Button-${look} ${size} ${pending ? 'Button-pending' : ''} ${className}`
  return (
    <AriaButton
      {...rest}
      onPress={(event) => pending || onPress?.(event)}
      aria-disabled={pending || rest['aria-disabled'] === true}
      className={classes}
    />
  )
}

interface ButtonLinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  readonly look?: Look
}

/** A link to a page, styled as a button. */
export const ButtonLink = createLink(({ look = 'plain', children, ...props }: ButtonLinkProps) => (
  <a {...props} className={`Button Button-${look}`}>
    {children}
  </a>
))
